package io.tapline.compiler;

import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Text to plan, by the number of addresses: read, analysed, compiled. Twice the addresses should
 * take twice the time. {@code bench/compiler} runs it.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
public class CompilerBench {
  @Param({"1", "100", "200", "400", "800", "1600"})
  private int addresses;

  private String text;

  /** Writes the query. */
  @Setup
  public void write() {
    String list =
        IntStream.range(0, addresses)
            .mapToObj(i -> "10.%d.%d.9:80".formatted(i / 256, i % 256))
            .collect(Collectors.joining(", "));
    text =
        "PARSE tcp_conn_time, http_get FROM * TO %s WHERE status >= 500 LIMIT 90s SAMPLE auto PROCESS (top-k: k=10, w=10s)"
            .formatted(list);
  }

  @Benchmark
  public CompileResult compile() {
    return Compiler.compile(text, Fixtures.CATALOGUE, Fixtures.INVENTORY, Fixtures.OPTIONS);
  }
}
