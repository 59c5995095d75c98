/**
 * The query language: text in, plan or errors out. Pure: no files, no network, no clock; the same
 * input gives the same output. Start at {@link io.tapline.compiler.Compiler}.
 */
package io.tapline.compiler;
