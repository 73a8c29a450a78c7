// A view as a picture to keep: its title, then tokens, bars, tables or a plot, one below the other.
const WIDE = 1000, EDGE = 48, SCALE = 2;

function colours() {
  const probe = document.createElement('i');
  document.body.append(probe);
  const found = {};
  for (const name of ['paper', 'ink', 'soft', 'line', 'accent', 'on-accent', 'wash']) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

const serif = size => `${size}px "Iowan Old Style", Palatino, "DejaVu Serif", Georgia, serif`;
const sans = size => `${size}px system-ui, "DejaVu Sans", sans-serif`;

function wrapped(pen, text, width) {
  const lines = [''];
  for (const word of String(text).split(/\s+/)) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (pen.measureText(longer).width > width && lines.at(-1)) lines.push(word); else lines[lines.length - 1] = longer;
  }
  return lines;
}

const PARTS = {
  text(pen, ink, part, top) {
    pen.font = part.serif ? serif(20) : sans(14);
    pen.fillStyle = part.soft ? ink.soft : ink.ink;
    const step = part.serif ? 30 : 21;
    const lines = wrapped(pen, part.text, WIDE - 2 * EDGE);
    lines.forEach((line, place) => pen.fillText(line, EDGE, top + step * (place + 0.8)));
    return top + step * lines.length + 6;
  },
  tokens(pen, ink, part, top) {
    let x = EDGE, y = top + 34;
    for (const token of part.tokens) {
      pen.font = serif(22);
      const width = Math.max(pen.measureText(token.is).width + (token.kind === 'shown' ? 0 : 12), 6);
      const gap = token.joined ? 0 : 8;
      if (x + gap + width > WIDE - EDGE) { x = EDGE; y += 56; }
      x += x === EDGE ? 0 : gap;
      if (token.kind === 'masked') { pen.fillStyle = ink.accent; pen.fillRect(x, y - 22, width, 30); }
      if (token.kind === 'random') { pen.fillStyle = ink.wash; pen.fillRect(x, y - 22, width, 30); }
      if (token.kind === 'kept' || token.kind === 'asked') { pen.strokeStyle = ink.accent; pen.strokeRect(x, y - 22, width, 30); }
      pen.fillStyle = token.kind === 'masked' ? ink['on-accent'] : ink.ink;
      pen.fillText(token.is, x + (token.kind === 'shown' ? 0 : 6), y);
      if (token.was) { pen.font = sans(11); pen.fillStyle = ink.soft; pen.fillText(token.was, x, y - 27); }
      x += width;
    }
    return y + 24;
  },
  bars(pen, ink, part, top) {
    pen.font = sans(14);
    pen.fillStyle = ink.ink;
    pen.fillText(part.title, EDGE, top + 16);
    let y = top + 28;
    const most = Math.max(...part.rows.map(row => row.value), 1e-9);
    for (const [place, row] of part.rows.entries()) {
      pen.font = serif(17); pen.fillStyle = ink.ink; pen.fillText(row.name, EDGE, y + 16, 190);
      pen.fillStyle = ink.line; pen.fillRect(EDGE + 200, y + 5, 560, 12);
      pen.fillStyle = place ? ink.soft : ink.accent; pen.fillRect(EDGE + 200, y + 5, 560 * Math.max(0, row.value) / most, 12);
      pen.font = sans(13); pen.fillStyle = ink.ink; pen.fillText(row.text, EDGE + 775, y + 16);
      y += 27;
    }
    return y + 12;
  },
  table(pen, ink, part, top) {
    const width = (WIDE - 2 * EDGE) / part.heads.length;
    let y = top + 18;
    for (const [line, row] of [part.heads, ...part.rows].entries()) {
      pen.font = sans(line ? 14 : 12);
      pen.fillStyle = line ? ink.ink : ink.soft;
      row.forEach((cell, place) => pen.fillText(String(cell ?? ''), EDGE + width * place, y, width - 12));
      pen.fillStyle = ink.line; pen.fillRect(EDGE, y + 8, WIDE - 2 * EDGE, 1);
      y += 28;
    }
    return y;
  },
  canvas(pen, ink, part, top) {
    const tall = part.canvas.height * (WIDE - 2 * EDGE) / part.canvas.width;
    pen.drawImage(part.canvas, EDGE, top, WIDE - 2 * EDGE, tall);
    return top + tall + 14;
  },
};

function paint(pen, ink, picture) {
  pen.font = serif(30);
  pen.fillStyle = ink.ink;
  pen.fillText(picture.title, EDGE, EDGE + 26, WIDE - 2 * EDGE);
  let top = EDGE + 46;
  for (const part of picture.parts) top = PARTS[part.kind](pen, ink, part, top) + 12;
  return top + EDGE / 2;
}

export function savePicture(picture) {
  const ink = colours(), canvas = document.createElement('canvas');
  const tall = Math.min(16000, Math.ceil(paint(canvas.getContext('2d'), ink, picture)));
  canvas.width = WIDE * SCALE;
  canvas.height = tall * SCALE;
  const pen = canvas.getContext('2d');
  pen.scale(SCALE, SCALE);
  pen.fillStyle = ink.paper;
  pen.fillRect(0, 0, WIDE, tall);
  paint(pen, ink, picture);
  return new Promise(done => canvas.toBlob(done, 'image/png'));
}
