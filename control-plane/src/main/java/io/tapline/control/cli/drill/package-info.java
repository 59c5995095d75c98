/** Commands that list agents and MultiLog nodes, search hosts' headers, and manage watches. */
package io.tapline.control.cli.drill;
