// Package judges compares the product with libraries that it does not depend on: the providers' own
// clients judge the requests that it sends, the streams that it reads and the model server of its
// tests, go-gitdiff judges what it makes of a patch, and shells what it reads of scripts. It is a
// module of its own, so that none of them is a dependency of the product. The decoders of streams
// and patches have packages of their own, since a fuzz target compiles anew whatever its package
// imports, which takes minutes for a whole client.
package judges
