/** The catalogue: parsers with their fields and arguments, processors with their arguments. */
package io.tapline.compiler.catalogue;
