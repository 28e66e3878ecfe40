// Package export makes a transcript of runs for people: one Markdown or HTML file, from what view
// shows of them. It opens nothing and reads no clock, and the same record gives the same bytes.
//
// The record is written by models, tools and people, and none of them may write a part of the
// transcript that looks like the program's own. So every text of theirs stands in one of three
// places. A text that is read as sentences is cut into paragraphs, code, headings and bold words,
// and put together anew: in Markdown inside a quotation, with every character escaped that means
// something there; a heading becomes a bold line. A text that is read as output stands in a fence
// that is longer than any row of backticks in it. A text in a line of the program's has its line
// ends and marks taken out. In HTML all of them go through html/template, and the page has no
// script and loads nothing.
//
// Control sequences are taken out of output, and shown by number in what a person was asked about.
package export
