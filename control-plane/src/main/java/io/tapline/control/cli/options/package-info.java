/** Options that several commands share, their validation, and reading the files that they name. */
package io.tapline.control.cli.options;
