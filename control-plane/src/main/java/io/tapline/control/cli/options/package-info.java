/** Options that several commands share, with their validation and the files that they name. */
package io.tapline.control.cli.options;
