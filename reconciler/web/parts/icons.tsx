// The icons of the page, drawn here so that nothing is loaded: each is a path in a 16 by 16 box.
const paths = {
  synced: 'M3 8.5l3.2 3.2L13 5',
  drifted: 'M8 2.5v6.5M8 12.6v.6',
  syncing: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  failed: 'M4 4l8 8M12 4l-8 8',
  waiting: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2M8 5v3.3l2 1.4',
  suspended: 'M5.5 3.5v9M10.5 3.5v9',
  missing: 'M8 3v10M3 8h10',
  unknown: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.6M8 12.6v.4',
  undeclared: 'M5 8h6',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5l3.5 3.5',
  stopped: 'M4 4h8v8H4z',
  brand: 'M1 3h14M3 3v11M13 3v11M8 3v3.5M6 7h4v4H6z',
  light:
    'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  dark: 'M13.5 9.6A6 6 0 1 1 6.4 2.5a4.8 4.8 0 0 0 7.1 7.1z',
  auto: 'M2 3h12v8H2zM6 14h4M8 11v3',
  help: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.6M8 12.6v.4',
  close: 'M4 4l8 8M12 4l-8 8',
  resume: 'M5 3.2v9.6L12.5 8z',
  rollback: 'M3 7h7a3.2 3.2 0 0 1 0 6.5H6M3 7l3-3M3 7l3 3',
  preview: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6.3a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4',
  console: 'M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3',
  leave: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  plus: 'M8 3.5v9M3.5 8h9',
  minus: 'M3.5 8h9',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
} as const;

export type IconName = keyof typeof paths;

/** A decoration without a text for screen readers: its user must add one. */
export function Icon({ name, size = 14 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  );
}
