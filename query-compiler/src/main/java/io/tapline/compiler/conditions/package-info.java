/** The language of conditions: its tokens, its grammar, and its syntax trees. */
package io.tapline.compiler.conditions;
