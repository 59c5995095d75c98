/** Formats query results as tables for people. */
package io.tapline.control.cli.results;
