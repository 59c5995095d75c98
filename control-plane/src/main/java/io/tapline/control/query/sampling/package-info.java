/** Controls the rate of {@code SAMPLE auto} according to the stream job's lag. */
package io.tapline.control.query.sampling;
