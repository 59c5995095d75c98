package io.tapline.bench.micro;

import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Formatter;
import io.tapline.compiler.Inventory;
import io.tapline.compiler.catalogue.Catalogue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
 * Measures the compiler with queries of different numbers of addresses: {@code compile} parses,
 * analyzes and compiles; {@code format} does little more than parse. Twice the addresses should
 * take twice the time.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 3, time = 1)
public class CompilerBench {
  /** System property with the path of the parsers' catalogue. */
  public static final String CATALOGUE = "tapline.catalogue";

  @Param({"1", "100", "200", "400", "800", "1600"})
  private int addresses;

  private String text;
  private Catalogue catalogue;

  /** Generates the query. */
  @Setup
  public void write() throws IOException {
    catalogue = Catalogue.fromJson(Files.readString(Path.of(System.getProperty(CATALOGUE))));
    String list =
        IntStream.range(0, addresses)
            .mapToObj(i -> "10.%d.%d.9:80".formatted(i / 256, i % 256))
            .collect(Collectors.joining(", "));
    text =
        "PARSE tcp_conn_time, http_get FROM * TO %s WHERE status >= 500 LIMIT 90s SAMPLE auto PROCESS (top-k: k=10, w=10s)"
            .formatted(list);
    if (compile().plan().isEmpty()) {
      throw new IllegalStateException("the query is invalid: " + compile().errors());
    }
  }

  @Benchmark
  public CompileResult compile() {
    return Compiler.compile(text, catalogue, Inventory.empty(), Compiler.Options.local("q-bench"));
  }

  @Benchmark
  public Formatter.Result format() {
    return Formatter.format(text);
  }
}
