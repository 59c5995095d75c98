/** A query in a known network: which switches mirror what, and where everything runs. */
package io.tapline.compiler.network;
