/** Routes for hosts: their MultiLog nodes, drill-down, watches and diagnosis. */
package io.tapline.control.rest.nodes;
