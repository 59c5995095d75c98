/**
 * Compiles the query language: turns text into a plan or errors. Pure: no files, no network, no
 * clock; the same input gives the same output. Start at {@link io.tapline.compiler.Compiler}.
 */
package io.tapline.compiler;
