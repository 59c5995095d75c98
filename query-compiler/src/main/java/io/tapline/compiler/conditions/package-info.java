/** The language of conditions: its tokens, its grammar, and the trees that a text becomes. */
package io.tapline.compiler.conditions;
