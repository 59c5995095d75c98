package io.tapline.placement;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Processes of one kind in a {@link Draft}, numbered without gaps: when one is removed, the last
 * one gets its number. Not thread-safe.
 */
final class Pool {
  int count;
  int[] host = new int[8];
  long[] input = new long[8];

  int add(int onHost, long inputBps) {
    if (count == host.length) {
      resize(2 * count);
    }
    host[count] = onHost;
    input[count] = inputBps;
    return count++;
  }

  void remove(int process) {
    count--;
    host[process] = host[count];
    input[process] = input[count];
  }

  void copyFrom(Pool source) {
    if (source.count > host.length) {
      resize(source.host.length);
    }
    count = source.count;
    System.arraycopy(source.host, 0, host, 0, count);
    System.arraycopy(source.input, 0, input, 0, count);
  }

  private void resize(int size) {
    host = Arrays.copyOf(host, size);
    input = Arrays.copyOf(input, size);
  }

  List<Layout.Process> processes() {
    List<Layout.Process> processes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      processes.add(new Layout.Process(host[i], input[i]));
    }
    return processes;
  }
}
