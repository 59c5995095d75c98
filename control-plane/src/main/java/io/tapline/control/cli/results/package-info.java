/** The rows of queries as tables for people. */
package io.tapline.control.cli.results;
