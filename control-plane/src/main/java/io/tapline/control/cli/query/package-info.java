/** Commands that submit, watch and stop a server's queries. */
package io.tapline.control.cli.query;
