"""The look of a page: one column of cards, light or dark as the reader's system is."""

__all__ = ["STYLE"]

STYLE = """
:root{color-scheme:light dark;--ground:#f4f6f8;--card:#ffffff;--ink:#1d232b;--muted:#5b6673;
--line:#e2e7ec;--accent:#1f6fb2;--code:#f1f4f7;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",Arial,sans-serif;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){:root{--ground:#0d1218;--card:#151b23;--ink:#e6ebf1;
--muted:#9aa7b5;--line:#28313b;--accent:#62aef0;--code:#0f151c}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 var(--sans)}
.page{max-width:1120px;margin:0 auto;padding:40px 24px 48px}
h1{margin:0;font-size:clamp(1.6rem,4vw,2.2rem);line-height:1.2;letter-spacing:-.015em}
.subtitle{margin:.6rem 0 0;max-width:46rem;color:var(--muted);font-size:1.06rem}
nav{display:flex;flex-wrap:wrap;gap:6px 18px;margin-top:18px;font-size:.9rem}
a{color:var(--accent);text-decoration:none}
a:hover,a:focus-visible{text-decoration:underline}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(175px,1fr));gap:14px;
margin:28px 0 0;padding:0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 18px 15px}
.tile dt{color:var(--muted);font-size:.86rem}
.tile dd{margin:0}
.tile .value{font-size:1.75rem;font-weight:650;line-height:1.3;letter-spacing:-.01em;
font-variant-numeric:tabular-nums}
.tile .note{color:var(--muted);font-size:.82rem;line-height:1.4}
section{background:var(--card);border:1px solid var(--line);border-radius:14px;
padding:24px 28px 26px;margin-top:22px}
h2{margin:0;font-size:1.22rem;line-height:1.3;letter-spacing:-.005em}
section p{margin:.5rem 0 0;max-width:46rem}
figure{margin:18px 0 0}
.drawing{overflow-x:auto}
.drawing svg{display:block;height:auto;max-width:100%;overflow:visible}
.drawing svg *{stroke-linejoin:round}
.drawing svg text{font-family:var(--sans)!important;font-variant-numeric:tabular-nums}
.drawing img{display:block;max-width:100%;height:auto}
.drawing .paper{background:#fff;border-radius:8px;padding:8px}
figcaption,caption{color:var(--muted);font-size:.88rem;line-height:1.45}
figcaption{margin-top:10px;max-width:52rem}
.wide{overflow-x:auto;margin-top:16px}
table{border-collapse:collapse;font-size:.93rem;min-width:min(100%,30rem)}
caption{caption-side:bottom;text-align:left;padding-top:10px}
th,td{padding:7px 18px 7px 0;border-bottom:1px solid var(--line);text-align:left;
vertical-align:top}
th:last-child,td:last-child{padding-right:0}
th{color:var(--muted);font-weight:600;font-size:.85rem}
th.number,td.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
pre{margin:16px 0 0;padding:14px 16px;background:var(--code);border:1px solid var(--line);
border-radius:10px;overflow-x:auto;font:.88rem/1.5 var(--mono);user-select:all}
footer{margin-top:26px;color:var(--muted);font-size:.83rem}
footer span{display:inline-block;margin-right:16px}
@media (max-width:640px){.page{padding:24px 12px 32px}section{padding:18px 16px 20px}}
@media print{body{background:none}section,.tile{break-inside:avoid}nav{display:none}}
"""
