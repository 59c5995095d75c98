/** Commands that run queries in their own process. */
package io.tapline.control.cli.run;
