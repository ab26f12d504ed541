// The spans of a run: the run, each host in it, the comparison on that host. Steps, requests and the server's work are inside the
// span of the host. If a comparison led to the run, the run begins with it.
import { endingSpan, underSpan, type Span, type Tracer } from '../../../server/lib/shared/spans.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface RunFacts {
  readonly id: string;
  readonly set: string;
  readonly kind: string;
  readonly revision: string;
  readonly by: string;
}

/** The times of a comparison, as Date.now() gives them. */
export interface ComparisonTime {
  readonly host: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export class RunTrace {
  readonly #tracer: Tracer;
  readonly #run: Span;
  readonly #hosts = new Map<string, Span>();

  /** `planned`: the comparison that led to the run. */
  constructor(tracer: Tracer, { id, set, kind, revision, by }: RunFacts, planned?: ComparisonTime) {
    this.#tracer = tracer;
    this.#run = tracer.begin(`${kind} ${set}`, {
      ...(planned === undefined ? {} : { startMs: planned.fromMs }),
      attributes: { 'gantry.set': set, 'gantry.run': id, 'gantry.by': by, 'vcs.ref.head.revision': revision },
    });
    if (planned !== undefined) this.#wasPlanned(planned);
  }

  /** Records a comparison from before the run. Its requests have no spans, since most comparisons lead to no run. */
  #wasPlanned({ host, fromMs, toMs }: ComparisonTime): void {
    const parent = this.#host(host, fromMs).place;
    this.#tracer.begin('plan', { parent, attributes: of(host), startMs: fromMs }).end(undefined, toMs);
  }

  /** A comparison of the host within the run. */
  plan<T>(host: string, work: () => Promise<T>): Promise<T> {
    if (this.#run.isEnded) return work();
    const parent = this.#host(host).place;
    return endingSpan(this.#tracer, this.#tracer.begin('plan', { parent, attributes: of(host) }), work);
  }

  onHost<T>(host: string, work: () => Promise<T>): Promise<T> {
    return this.#run.isEnded ? work() : underSpan(this.#tracer, this.#host(host), work);
  }

  hostEnded(host: string, failure: string | undefined): void {
    this.#hosts.get(host)?.end(failure);
    this.#hosts.delete(host);
  }

  ended(outcome: string, message: string | undefined): void {
    for (const span of this.#hosts.values()) span.end();
    this.#hosts.clear();
    this.#run.set('gantry.outcome', outcome);
    this.#run.end(outcome === 'failed' || outcome === 'partial' ? (message ?? outcome) : undefined);
  }

  #host(host: string, startMs?: number): Span {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    const span = this.#tracer.begin(`host ${host}`, {
      parent: this.#run.place,
      attributes: of(host),
      ...withoutUndefined({ startMs }),
    });
    this.#hosts.set(host, span);
    return span;
  }
}

const of = (host: string): Readonly<Record<string, string>> => ({ 'gantry.host': host });
