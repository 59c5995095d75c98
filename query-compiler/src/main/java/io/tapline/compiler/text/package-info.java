/** The text of queries: grammar, syntax tree, names, numbers, and the errors of a text. */
package io.tapline.compiler.text;
