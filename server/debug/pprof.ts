// Encodes results of V8's profilers as pprof profiles: stacks with their values. Pure.
import { Profile, StringTable, type SampleInput } from 'pprof-format';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** From 0. */
  readonly lineNumber: number;
}

/** The result of `Profiler.stop`; times in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[] | undefined;
  }[];
  readonly startTime: number;
  readonly endTime: number;
  readonly samples?: readonly number[] | undefined;
  readonly timeDeltas?: readonly number[] | undefined;
}

/** The result of `HeapProfiler.getSamplingProfile`. */
export interface HeapNode {
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly HeapNode[];
}

/** V8's name for the time in which the thread waits. */
const idle = '(idle)';

/** `periodUs`: the time between two samples. */
export function encodeCpu(profile: CpuProfile, takenAtMs: number, periodUs: number): Uint8Array {
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const spent = new Map<number, { count: number; us: number }>();
  samples.forEach((id, at) => {
    const sum = spent.get(id) ?? { count: 0, us: 0 };
    // A delta is the time since the previous sample.
    const us = at + 1 < samples.length ? (timeDeltas[at + 1] ?? 0) : periodUs;
    spent.set(id, { count: sum.count + 1, us: sum.us + Math.max(0, us) });
  });
  const stacks = new Stacks();
  for (const [id, { count, us }] of spent) {
    const frames: CallFrame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at)?.callFrame;
      if (frame !== undefined) frames.push(frame);
    }
    if (frames[0]?.functionName !== idle) stacks.add(frames, [count, us * 1000]);
  }
  return stacks.encode({
    types: [
      ['samples', 'count'],
      ['cpu', 'nanoseconds'],
    ],
    takenAtMs,
    durationUs: profile.endTime - profile.startTime,
    period: periodUs * 1000,
  });
}

/** Memory in use that was allocated since sampling began. `intervalBytes`: the average number of bytes per sample. */
export function encodeHeap(head: HeapNode, takenAtMs: number, intervalBytes: number): Uint8Array {
  const stacks = new Stacks();
  const open: { readonly node: HeapNode; readonly frames: readonly CallFrame[] }[] = [{ node: head, frames: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const frames = [next.node.callFrame, ...next.frames];
    if (next.node.selfSize > 0) stacks.add(frames, [next.node.selfSize]);
    for (const node of next.node.children) open.push({ node, frames });
  }
  return stacks.encode({ types: [['inuse_space', 'bytes']], takenAtMs, durationUs: 0, period: intervalBytes });
}

interface Kind {
  readonly types: readonly (readonly [type: string, unit: string])[];
  readonly takenAtMs: number;
  readonly durationUs: number;
  /** In the unit of the last type. */
  readonly period: number;
}

/** Collects stacks; gives each function one number. */
class Stacks {
  readonly #strings = new StringTable();
  readonly #ids = new Map<string, number>();
  readonly #frames: CallFrame[] = [];
  readonly #samples: SampleInput[] = [];

  /** `frames`: the innermost first. */
  add(frames: readonly CallFrame[], value: number[]): void {
    const inner = frames.filter(({ functionName }) => functionName !== '(root)');
    this.#samples.push({ locationId: inner.map((frame) => this.#idOf(frame)), value });
  }

  #idOf(frame: CallFrame): number {
    const key = `${frame.functionName}\n${frame.url}\n${frame.lineNumber}`;
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#frames.push(frame);
    this.#ids.set(key, this.#frames.length);
    return this.#frames.length;
  }

  encode({ types, takenAtMs, durationUs, period }: Kind): Uint8Array {
    const text = (value: string): number => this.#strings.dedup(value);
    const sampleType = types.map(([type, unit]) => ({ type: text(type), unit: text(unit) }));
    const places = this.#frames.map(({ functionName, url, lineNumber }, at) => ({
      id: at + 1,
      name: text(functionName === '' ? '(anonymous)' : functionName),
      filename: text(url.replace(/^file:\/\//, '')),
      line: Math.max(0, lineNumber + 1),
    }));
    const last = sampleType.at(-1);
    return new Profile({
      sampleType,
      sample: this.#samples,
      location: places.map(({ id, line }) => ({ id, line: [{ functionId: id, line }] })),
      function: places.map(({ id, name, filename, line }) => ({
        id,
        name,
        systemName: name,
        filename,
        startLine: line,
      })),
      stringTable: this.#strings,
      timeNanos: BigInt(Math.round(takenAtMs)) * 1_000_000n,
      durationNanos: BigInt(Math.round(durationUs)) * 1000n,
      ...withoutUndefined({ periodType: last }),
      period,
    }).encode();
  }
}
