/** What a caller may look at, and what may leave the network. */
package io.tapline.compiler.access;
