package io.tapline.flink.ingest;

import io.tapline.flink.results.Update;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.TypeSerializerSingleton;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** Passes updates on unchanged, as Flink does between chained operators. */
final class SameUpdate extends TypeSerializerSingleton<Update> {
  @Override
  public boolean isImmutableType() {
    return true;
  }

  @Override
  public Update createInstance() {
    throw neverSerialized();
  }

  @Override
  public Update copy(Update source) {
    return source;
  }

  @Override
  public Update copy(Update source, Update reuse) {
    return source;
  }

  @Override
  public void copy(DataInputView source, DataOutputView target) {
    throw neverSerialized();
  }

  @Override
  public int getLength() {
    return -1;
  }

  @Override
  public void serialize(Update update, DataOutputView target) {
    throw neverSerialized();
  }

  @Override
  public Update deserialize(DataInputView source) {
    throw neverSerialized();
  }

  @Override
  public Update deserialize(Update reuse, DataInputView source) {
    throw neverSerialized();
  }

  @Override
  public TypeSerializerSnapshot<Update> snapshotConfiguration() {
    return new SimpleTypeSerializerSnapshot<>(SameUpdate::new) {};
  }

  private static UnsupportedOperationException neverSerialized() {
    return new UnsupportedOperationException("updates stay within the task that emits them");
  }
}
