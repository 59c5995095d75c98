/** JMH benchmarks of the compiler, the placement and the stream job's steps. */
package io.tapline.bench.micro;
