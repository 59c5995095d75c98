/** Options that several commands share, and what is read and checked because of them. */
package io.tapline.control.cli.options;
