/** The taps that a query may read, and the names of the ports that they show. */
package io.tapline.compiler.taps;
