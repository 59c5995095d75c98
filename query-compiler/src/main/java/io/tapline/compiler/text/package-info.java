/** The text of queries: grammar, syntax tree, names, numbers and errors. */
package io.tapline.compiler.text;
