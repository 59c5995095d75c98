/** What queries can name: parsers with their fields, and processors with their arguments. */
package io.tapline.compiler.catalogue;
