// Package journal holds the nouns of a run: the facts that its journal consists of, and what they
// speak of. It decides nothing.
//
// A fact is an [Event]: its place in the journal, and a [Body] that says what happened. Bodies are
// stored as JSON beside their [Kind] and [Version]; [Decode] reads one, and refuses by name what a
// newer binary wrote. A kind, a field or a word that was stored once keeps its meaning for ever.
//
// Beside the bodies stand the values in them, with what can be told from a value alone: calls
// ([Proposal], [Result]), questions to a person ([Request]), messages ([Message]), the setup of a
// model with its usage and prices, and [Limits] and [Mode], which can only be tightened.
package journal
