// xterm.js writes its rules into <style> elements while it opens, which the content security policy of the page forbids. Here it gets
// elements whose text becomes a style sheet of the page instead, which the policy allows. (Its documentOverride does not reach its scroll bar.)

/** Runs `open`; each <style> element that it creates becomes an adopted style sheet. */
export function withoutInlineStyle(open: () => void): void {
  const original = document.createElement.bind(document);
  const createElement = (tag: string, options?: ElementCreationOptions): HTMLElement =>
    tag.toLowerCase() === 'style' ? styleStandIn(original('template')) : original(tag, options);
  Object.defineProperty(document, 'createElement', { value: createElement, configurable: true });
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}

function styleStandIn(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  const take = (text: string | null): void => sheet.replaceSync(text ?? '');
  Object.defineProperty(element, 'textContent', { set: take });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    remove();
  };
  return element;
}
