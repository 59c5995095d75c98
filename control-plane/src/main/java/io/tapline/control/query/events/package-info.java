/** Events of queries, delivered from the hosts' agents to clients within milliseconds. */
package io.tapline.control.query.events;
