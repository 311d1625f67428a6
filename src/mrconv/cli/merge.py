"""``mrconv merge``: a trained model as one convolution a layer."""

import argparse

HELP = "merge a trained model: every layer becomes one convolution"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("model", help="folder of a saved model, or its name on the Hub")
    parser.add_argument("-o", "--out", required=True, metavar="DIR", help="folder of the new model")
    parser.add_argument(
        "--rate",
        type=int,
        default=1,
        help="samples of the training rate per sample of the new model's input (default 1)",
    )
    parser.add_argument(
        "--form",
        choices=("merged", "recurrence"),
        default="merged",
        help="one convolution a layer, or one recurrence where kernels are modal (default merged)",
    )


def run(args: argparse.Namespace) -> int:
    """Writes the merged model and prints what the comparison of each layer found."""
    from dataclasses import replace

    import mrconv

    model = mrconv.load(args.model)
    merged = mrconv.merge(model, rate=args.rate, form=args.form)
    contract = merged.contract
    if contract is not None and contract.sample_rate is not None:
        merged.contract = replace(contract, sample_rate=contract.sample_rate / args.rate)
    for name, layer in merged.named_modules():
        if isinstance(layer, mrconv.LongConv):
            print(f"{name}: {layer.num_taps} taps, {layer.checked or 'was merged already'}")
        elif isinstance(layer, mrconv.nn.ModalRecurrence):
            print(f"{name}: {layer.modes} modes, {layer.checked or 'was a recurrence already'}")
    print(f"merged model: {merged.save_pretrained(args.out)}")
    print(f"next: mrconv verify {args.model} {args.out}")
    return 0
