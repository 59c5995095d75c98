/** Commands that explain what queries can say. */
package io.tapline.control.cli.language;
