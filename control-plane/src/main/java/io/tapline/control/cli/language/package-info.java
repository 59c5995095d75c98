/** Commands that format and explain queries, and list parsers and processors. */
package io.tapline.control.cli.language;
