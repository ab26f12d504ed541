// A small curve of the last minutes, with its newest value as words.
export interface SparklineProps {
  readonly label: string;
  readonly value: string;
  readonly points: readonly number[];
  /** The largest value of the scale; absent: the largest point. */
  readonly max?: number;
}

const [width, height] = [160, 36];

export function Sparkline({ label, value, points, max }: SparklineProps) {
  const top = Math.max(max ?? 0, ...points, Number.MIN_VALUE);
  const step = width / Math.max(1, points.length - 1);
  const line = points.map(
    (point, at) => `${(at * step).toFixed(1)},${(height - 2 - (point / top) * (height - 4)).toFixed(1)}`,
  );
  return (
    <figure class="spark">
      <figcaption>
        <span class="soft small">{label}</span> <strong>{value}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <polyline points={line.join(' ')} />
      </svg>
    </figure>
  );
}
