// A list of any length that draws only the visible rows. Arrow keys move through it; each row has its number for screen readers.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface VirtualListProps<T> {
  readonly items: readonly T[];
  readonly label: string;
  readonly rowHeight: number;
  readonly keyOf: (item: T) => string;
  readonly row: (item: T) => ComponentChildren;
  readonly chosen: string | undefined;
  readonly choose: (key: string) => void;
}

const extra = 6;

export function VirtualList<T>(props: VirtualListProps<T>) {
  const { items, label, rowHeight, keyOf, row, chosen, choose } = props;
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState<Active>({ at: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    setHeight(element.clientHeight);
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const anchor = useRef<Anchor>({ at: 0, offset: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || anchor.current.key === undefined) return;
    const { offset } = anchor.current;
    const now = placeOf(items, keyOf, anchor.current);
    if (now === anchor.current.at) return;
    anchor.current = { ...anchor.current, at: now };
    element.scrollTop = now * rowHeight + offset;
    setTop(element.scrollTop);
  }, [items]);
  const onScroll = ({ scrollTop }: HTMLDivElement): void => {
    const first = Math.floor(scrollTop / rowHeight);
    const item = items[first];
    // At its top a list shows what comes first.
    const key = scrollTop === 0 || item === undefined ? undefined : keyOf(item);
    anchor.current = { at: first, key, offset: scrollTop - first * rowHeight };
    setTop(scrollTop);
  };
  const at = placeOf(items, keyOf, active);
  useEffect(() => {
    if (active.at !== at) setActive({ ...active, at });
  }, [at]);
  const activate = (number: number): void => {
    const item = items[number];
    setActive({ at: number, key: item === undefined ? undefined : keyOf(item) });
  };

  const show = (next: number): void => {
    const bounded = Math.max(0, Math.min(items.length - 1, next));
    activate(bounded);
    const element = box.current;
    if (!element) return;
    if (bounded * rowHeight < element.scrollTop) element.scrollTop = bounded * rowHeight;
    const end = (bounded + 1) * rowHeight;
    if (end > element.scrollTop + element.clientHeight) element.scrollTop = end - element.clientHeight;
  };
  const page = Math.max(1, Math.floor(height / rowHeight) - 1);
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: items.length - 1,
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moves[event.key];
    const item = items[at];
    if (next !== undefined) show(next);
    else if ((event.key === 'Enter' || event.key === ' ') && item !== undefined) choose(keyOf(item));
    else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(top / rowHeight) - extra);
  const last = Math.min(items.length, Math.ceil((top + height) / rowHeight) + extra);
  const rows = items.slice(first, last);
  const isActiveDrawn = at >= first && at < last;
  return (
    <div
      ref={box}
      class="virtual"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={isActiveDrawn && items.length > 0 ? `${id}-${at}` : undefined}
      onKeyDown={onKeyDown}
      onScroll={(event) => onScroll(event.currentTarget)}
    >
      <div class="virtual-space" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
        {rows.map((item, offset) => {
          const number = first + offset;
          const key = keyOf(item);
          return (
            <div
              key={key}
              id={`${id}-${number}`}
              class={number === at ? 'virtual-row active' : 'virtual-row'}
              role="option"
              aria-selected={key === chosen}
              aria-setsize={items.length}
              aria-posinset={number + 1}
              style={{ transform: `translateY(${number * rowHeight}px)`, height: `${rowHeight}px` }}
              onClick={() => {
                activate(number);
                choose(key);
              }}
            >
              {row(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The active row: it stays so when rows come or go before it. */
interface Active {
  readonly at: number;
  readonly key?: string | undefined;
}

/** The first visible row: it keeps its place on the screen when rows come or go before it. */
interface Anchor extends Active {
  /** How much of it is above what is visible. */
  readonly offset: number;
}

function placeOf<T>(items: readonly T[], keyOf: (item: T) => string, { at, key }: Active): number {
  const item = items[at];
  const isThere = key === undefined || (item !== undefined && keyOf(item) === key);
  const found = isThere ? at : items.findIndex((each) => keyOf(each) === key);
  return Math.min(found < 0 ? at : found, Math.max(0, items.length - 1));
}
