// Package maintain looks after a state folder as a whole: whether it is damaged ([Check]), where
// secrets lie in the clear ([FindExposed]), whether the tables beside the journal are as it proves
// ([Differences], [Repair]), whether the schema is as the migrations make it ([SchemaDifferences],
// [RepairSchema]), and what can be read of a folder that is lost ([Salvage]).
package maintain
