/** The monitors that capture packets for queries. */
package io.tapline.control.query.monitors;
