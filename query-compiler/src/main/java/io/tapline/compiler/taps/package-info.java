/** The taps that a query may read, and the names of their ports. */
package io.tapline.compiler.taps;
