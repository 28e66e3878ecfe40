// Package lab has a fleet of real processes on one machine: Temporal's server on SQLite, workers
// with state folders of their own, drivers and their commands, each host in a PID namespace that
// dies as a machine does, and, for partitions, in a network namespace.
//
// Effects are counted outside of all of that: each command of a run appends a line to a file. What
// a promise allows is compared with these lines, never with what agent or the engine says.
//
// What the design promises, and the story that tries it:
//
//	failure table
//	  worker killed                       TestAKilledWorkerLeavesItsRunGoing, TestManyRuns
//	  driver killed                       TestAKilledDriverIsFollowedByAnother,
//	                                      TestAKilledWorkerAndDriver,
//	                                      TestDriversThatEndAtTheirWitness
//	  host rebooted within Away           TestAKilledHostThatComesBackKeepsItsRun
//	  host gone for good                  TestALostHostLosesAtMostOneCall,
//	                                      TestADeletedHomeLosesAtMostOneCall
//	  host and log gone, or no log        TestARunWithoutARecordIsParked,
//	                                      TestAWorkerWithoutALog
//	  engine down                         TestAKilledEngineComesBack,
//	                                      TestAnEngineThatIsAwayForLong
//	  log down                            TestWithoutItsLogNoEffectBegins,
//	                                      TestALogThatIsAwayForLong
//	  log, and no engine                  TestAHostWithoutTheEngineIsFenced, TestADeafHost
//	  engine, and no log                  TestAHostWithoutTheLogWaits,
//	                                      TestAHostWithoutTheLogGivesItsRunAway
//	  neither                             TestAHostAloneStops
//	  asleep before and after an append   TestADriverThatSleptStartsNothing
//	  asleep while it acts                TestASleepingHostIsFenced
//	  duplicate start                     TestOneKeyIsOneRun, TestAKeyThatTheEngineForgot,
//	                                      TestLostReplies
//	  duplicate answer, lost replies      TestLostReplies; client: TestAQuestionOnAServer
//	  answer while the host dies          TestAnAnswerWhoseHostDies,
//	                                      TestAnAnswerIsTakenAfterTheHomeWasDeleted
//	  host returns after its run moved    TestAHostThatComesBackEndsItsCommands,
//	                                      TestASleepingHostIsFenced
//	  one pack, two imports               agent: testdata/script/moves.txt
//	  log cloned                          TestAClonedLogIsRefused
//	  clocks jump                         TestTheClockOfAHostIsSet
//	promises
//	  1 never twice                       every story;
//	                                      TestControlWithoutALogEffectsAreDoneTwice
//	  2 in the log before it is done      TestDriversThatEndAtTheirWitness,
//	                                      TestWithoutItsLogNoEffectBegins;
//	                                      model: TestEveryInterleaving;
//	                                      agent: testdata/script/witness.txt
//	  3 what was shown survives           TestALostHostLosesAtMostOneCall,
//	                                      TestAnAnswerIsTakenAfterTheHomeWasDeleted
//	  4 lost files are not believed       TestTheNextHostSaysWhichFilesAreBehind
//	  5 one key is one run                TestOneKeyIsOneRun, TestAKeyThatTheEngineForgot
//	  6 one answer, and only the fleet's  TestAQuestionIsAnsweredFromOutside,
//	                                      TestAnAnswerOnTheHostIsRefused
//	  7 cancel holds                      TestACancelledRunOfALostHostCanStartNothing
//	  8 no run is nowhere                 TestManyRuns, TestAHostThatComesBackEndsItsCommands
//	  9 without engine, without log       TestAnEngineThatIsAwayForLong,
//	                                      TestALogThatIsAwayForLong
//	  10 nothing in the clear             TestNothingIsInTheClear
//	  11 upgrades                         TestAnUpgradedWorkerLeavesItsRunGoing,
//	                                      TestAnUpgradedAgentLeavesItsRunGoing;
//	                                      custody: TestOldHistoriesReplay
//	  12 the cost to agent alone          scripts/bench
//	commands
//	  worker                              TestWhatIsRefusedByName, TestTwoWorkersOfOneName,
//	                                      TestAFleetOverTLS
//	  run, ls, answer, attach, cancel,
//	  doctor, schedule                    TestTheCommands, TestAQueuedRunSaysWhatItLacks,
//	                                      TestASchemaAndAPictureOutliveTheirHost
//	  move                                TestARunMoves, TestTheNextHostSaysWhichFilesAreBehind
//	  resume                              TestARunWithoutARecordIsParked
//	  drain                               TestADrainedHostHasNoRun,
//	                                      TestADrainDoesNotWaitForEver
//
// It needs Linux, root, and the three programs; see [Prepare]. What the fleet costs is measured by
// go test -run TestFigures -figures -v .
package lab
