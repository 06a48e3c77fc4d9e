// The texts that are seen and whose contrast to what is behind them is below LEAST, as WCAG 2.2 computes it.
(() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  // Red, green and blue from 0 to 255, and the opacity, of any colour in CSS.
  function parse(text) {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, opacity] = context.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, opacity / 255];
  }

  const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3]));

  function luminance(colour) {
    const [red, green, blue] = colour.map((value) => (value <= 0.04045 * 255 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function contrastOf(one, other) {
    const [more, less] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  }

  function opacityOf(element) {
    let found = 1;
    for (let at = element; at; at = at.parentElement) found *= Number(getComputedStyle(at).opacity);
    return found;
  }

  // The rectangle of a node, if the text is in one, and the backgrounds of all that is around it.
  function groundOf(element) {
    const layers = [];
    const box = element instanceof SVGElement ? element.parentElement.querySelector(":scope > rect") : null;
    if (box) {
      const { fill, opacity } = getComputedStyle(box);
      const [red, green, blue, own] = parse(fill);
      layers.push([red, green, blue, own * Number(opacity)]);
    }
    for (let at = element; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  }

  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    const isUnseen = element.closest("script, style, noscript, title, .hidden, .skip, :disabled");
    if (!text || isUnseen || !element.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    const ground = groundOf(element);
    const [red, green, blue, own] = parse(element instanceof SVGElement ? style.fill : style.color);
    const contrast = contrastOf(over([red, green, blue, own * opacityOf(element)], ground), ground);
    if (contrast < LEAST) found.add(`${text.slice(0, 40)} (${element.tagName} ${element.getAttribute("class") || ""}): ${contrast.toFixed(2)}`);
  }
  return [...found];
})()
