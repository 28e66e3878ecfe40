// Agent-fleet runs agent on many machines.
package main

func main() {}
