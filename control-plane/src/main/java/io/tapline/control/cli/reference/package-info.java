/** Reference pages, manual pages and completions, generated from the programs' options. */
package io.tapline.control.cli.reference;
