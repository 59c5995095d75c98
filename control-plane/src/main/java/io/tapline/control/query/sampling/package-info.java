/** Controls the rate of {@code SAMPLE auto} by the lag of the stream job. */
package io.tapline.control.query.sampling;
