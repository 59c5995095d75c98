/** Server-sent events with the results and the states of queries. */
package io.tapline.control.rest.events;
