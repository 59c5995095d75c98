package io.tapline.control.flink;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.flink.job.QueryJob;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that the jar contains the job and all aggregates: the class loader finds Tapline's classes
 * only there.
 */
class JobJarTest {

  /** A class loader that has all classes except Tapline's, like a cluster's {@code lib}. */
  private static final class Lib extends ClassLoader {
    Lib() {
      super(JobJarTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.startsWith("io.tapline.")) {
        throw new ClassNotFoundException(name);
      }
      return super.loadClass(name, resolve);
    }
  }

  @TempDir Path folder;

  @Test
  void theJarIsSelfContained() throws Exception {
    Path jar = JobJar.write(folder);
    try (URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, new Lib())) {
      Class<?> job = Class.forName(QueryJob.class.getName(), true, loader);
      assertThat(job.getClassLoader()).isSameAs(loader);
      assertThat(job.getDeclaredMethods()).isNotEmpty();
      Class<?> service = loader.loadClass(MergeableAggregate.class.getName());
      List<String> services =
          StreamSupport.stream(ServiceLoader.load(service, loader).spliterator(), false)
              .map(loaded -> loaded.getClass().getName())
              .toList();
      assertThat(services)
          .containsExactlyInAnyOrderElementsOf(
              Aggregates.all().stream().map(loaded -> loaded.getClass().getName()).toList());
    }
  }
}
