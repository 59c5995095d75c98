/** Routes of hosts: their MultiLog nodes, drill-down, watches, diagnosis. */
package io.tapline.control.rest.nodes;
