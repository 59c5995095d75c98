/** JMH benchmarks of the compiler, of placement and of the stream job's steps. */
package io.tapline.bench.micro;
