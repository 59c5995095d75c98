/** Reference pages, manual pages and completions, written from the programs' options. */
package io.tapline.control.cli.reference;
